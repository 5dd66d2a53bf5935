"""Nodes and decisions as ONNX operators."""
