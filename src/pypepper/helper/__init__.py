"""Small helpers that programs outside the pipeline use as well."""
