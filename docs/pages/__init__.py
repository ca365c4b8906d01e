"""Generated pages, one module per page or family of pages.

A module has the fixed text at the head of its page and a function ``make_NAME_page`` that returns
the whole page.
"""
