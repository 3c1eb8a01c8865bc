"""Serving tools by the Model Context Protocol, over stdio and over HTTP: the same declarations, limits and sandboxes as
`enlist tool`."""
