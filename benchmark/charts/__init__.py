"""Charts: plain data that two renderers show, matplotlib as a picture and Plotly as an interactive plot."""
