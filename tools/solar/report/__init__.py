"""What people see of bounds: tables, plots, report sections."""
