"""The writer: joins the sections that tools render from their own outputs, and adds no claim."""
