// One case in onnxruntime for JavaScript, in Node and in a browser alike; exchange.py says how cases lie on disk.

const TYPES = {
  float32: { array: Float32Array, tensor: "float32" },
  float64: { array: Float64Array, tensor: "float64" },
  int64: { array: BigInt64Array, tensor: "int64" },
  text: { array: Uint32Array, tensor: "string" },
};

/** The tensors of the rows from `start` on. */
function feedsOf(ort, described, values, start, rows) {
  const feeds = {};
  for (const input of described.inputs) {
    const { array, tensor } = TYPES[input.type];
    const first = input.offset + start * input.columns * array.BYTES_PER_ELEMENT;
    const cells = new array(values, first, rows * input.columns);
    const data = input.type === "text" ? Array.from(cells, (index) => described.texts[index]) : cells.slice();
    feeds[input.name] = new ort.Tensor(tensor, data, [rows, input.columns]);
  }
  return feeds;
}

/**
 * What the model says of all rows of a case: { labels: Int32Array, probabilities: Float32Array, answer }, or
 * { answer: { error } }. model: bytes; values: an ArrayBuffer with the content of rows.bin.
 */
export async function score(ort, settings, described, model, values) {
  try {
    const session = await ort.InferenceSession.create(model, settings);
    const [labelName, probabilityName] = session.outputNames;
    const labels = new Int32Array(described.rows);
    const texts = new Map();
    let probabilities = null;
    let classes = 0;
    let start = 0;
    for (const rows of described.chunks) {
      const found = await session.run(feedsOf(ort, described, values, start, rows));
      const label = found[labelName].data;
      const shares = found[probabilityName];
      if (label.length !== rows || shares.dims[0] !== rows) throw new Error(`${label.length} labels of ${rows} rows`);
      classes = shares.dims[1];
      probabilities ??= new Float32Array(described.rows * classes);
      probabilities.set(shares.data, start * classes);
      for (let i = 0; i < rows; i++) {
        if (typeof label[i] === "string" && !texts.has(label[i])) texts.set(label[i], texts.size);
        labels[start + i] = typeof label[i] === "string" ? texts.get(label[i]) : Number(label[i]);
      }
      start += rows;
    }
    await session.release();
    return { labels, probabilities, answer: { classes, texts: texts.size ? [...texts.keys()] : null } };
  } catch (error) {
    return { answer: { error: String(error?.message ?? error) } };
  }
}
