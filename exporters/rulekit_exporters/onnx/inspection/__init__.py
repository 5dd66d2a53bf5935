"""What an ONNX model decides, read from its operators and constants (`reader.inspect`)."""
