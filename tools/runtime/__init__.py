"""The ground floor: ids, errors, events, artifacts, memory, sandbox and the registry. Imports nothing above it."""
