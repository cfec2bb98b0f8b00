"""Results for people and programs: what `print` shows, `data` for JSON, and a `page` of HTML.

Importing it adds the renderers, so that results print without importing it.
"""

from ...show.tables import RENDERERS, Renderer
from .page import page as page
from .text import advice_parts, data as data, evaluation_parts, fit_parts

RENDERERS["Fit"] = Renderer(fit_parts, data)
RENDERERS["Advice"] = Renderer(advice_parts)
RENDERERS["Evaluation"] = Renderer(evaluation_parts)
