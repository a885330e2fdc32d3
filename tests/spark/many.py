"""Let few rows pass for many, so that Spark's own way of writing is tested with them."""

from dataclasses import replace

from pyhudi.commit import begin, few_rows


def take_few_for_many(patch=setattr):
    """Bring no rows to the driver; `patch` sets an attribute of a module."""
    for module in (begin, few_rows):
        patch(module, "DRIVER_WRITE_BYTES", replace(module.DRIVER_WRITE_BYTES, default=0))
