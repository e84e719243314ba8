"""Questions asked of the record, and the pages that answer them."""
