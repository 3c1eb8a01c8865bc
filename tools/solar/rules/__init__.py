"""Rules: what an operator of each front end costs, one table by operator name per file; `table` holds them all."""
