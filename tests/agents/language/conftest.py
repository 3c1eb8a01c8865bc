import importlib.util
import sys
from pathlib import Path

# The fault server is a module of the tests, which are no packages.
_spec = importlib.util.spec_from_file_location("fault_server", Path(__file__).with_name("fault_server.py"))
assert _spec and _spec.loader
fault_server = importlib.util.module_from_spec(_spec)
sys.modules["fault_server"] = fault_server
_spec.loader.exec_module(fault_server)
