"""Charts: the timeline of a run as data, and pictures of it (SVG, PNG).

================  ================================================================
timeline          the data: panels with lines, and marks
collection        the timeline of a run, from its record
training_panels   losses and rate, from the progress
comparison        losses and rates of several runs over their steps
gpu_panels        activity, memory, clock, temperature and power of the GPUs
host_panels       memory, processors, disks, pressure, output
run_marks         checkpoints, warnings, signals, dumps of stacks, failure, end
sample_rows       samples of a series in the unit of a chart, and as rates
line_thinning     fewer points, with the extremes of those left out
bands             many lines as a range with a median and the outliers
summary           the timeline in numbers, which stands in for a picture
drawing           the pictures, drawn by a process that may fail
drawing_program   that process: the only one that loads the library
vega_lite         the timeline as a chart for the library
vega_layers       parts of such a chart
value_axis        the axis of the values of a panel
panel_texts       title, unit, legend and labels of a panel
mark_strip        the symbols and labels of the marks
mark_labels       places of these labels
number_text       numbers, times and ticks as people read them
text_width        estimated width of a text
palette           colours by their role
svg               SVG reduced to shapes and texts, with classes for a style sheet
svg_paths         shorter paths
png               smaller files
chart.css         the style sheet: light and dark
================  ================================================================

A picture never depends on the reader's network or scripts.  The SVG is inline in a page; put it in
an element of the class ``chart-frame`` with ``tabindex="0"``, which scrolls on narrow screens.
"""
