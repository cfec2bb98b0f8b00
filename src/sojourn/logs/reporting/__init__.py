"""What people see: text, JSON and an HTML page. Importing it adds the renderers."""

from ...show.tables import RENDERERS, Renderer
from . import advice, data, evaluation, screen

RENDERERS["Fit"] = Renderer(screen.parts, data.as_dict)
RENDERERS["Advice"] = Renderer(advice.parts)
RENDERERS["Evaluation"] = Renderer(evaluation.parts)
