"""Gemini `generateContent` and its stream."""
