"""What runs on the job's side: the supervisor that kills, and the steps that confine a process before it is the job.

This folder is started as a program (`python -I -S inside ROLE`), so its modules import each other by bare name and use
the standard library only: a start takes some ten milliseconds and needs nothing installed.
"""
