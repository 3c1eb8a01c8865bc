"""Language models: asked through any OpenAI-compatible endpoint, within a budget, and believed in nothing unchecked."""
