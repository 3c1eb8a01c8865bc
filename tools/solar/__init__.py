"""Speed of light: how fast a PyTorch model could run on given hardware, from its graph and the data sheets alone.

Two stages. `capture` runs the user's code (in a sandbox) and leaves a `Graph` as JSON; `bounds` computes every number
from that graph without running anything. `check` counts again by another route and `confirm` compares the two.
"""
