/** A BERT of one small layer as ONNX, with the tokenizer and the configuration beside it. */
import { type OnnxNode, type OnnxTensor, onnxBytes } from "./onnx-bytes.ts";

const [hidden, inner, positions, types] = [32, 64, 8, 2];
const vocab = { "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, run: 5, "##ing": 6 };

const filled = (name: string, ...dims: number[]): OnnxTensor => ({
  name,
  dims,
  values: Array.from({ length: dims.reduce((product, size) => product * size) }, (_, at) =>
    Math.sin(at + name.length),
  ),
});

/** The files by their names. */
export function onnxBert(): Record<string, Uint8Array> {
  const layer = "encoder.layer.0";
  const layers: [string, number, number][] = [
    ["attention.self.query", hidden, hidden],
    ["attention.self.key", hidden, hidden],
    ["attention.self.value", hidden, hidden],
    ["attention.output.dense", hidden, hidden],
    ["intermediate.dense", hidden, inner],
    ["output.dense", inner, hidden],
  ];
  const nodes = layers.map(
    ([name], at): OnnxNode => ({
      name: `/${layer.replace("r.l", "r/l")}/${name.replaceAll(".", "/")}/MatMul`,
      operation: "MatMul",
      inputs: ["x", `onnx::MatMul_${at}`],
    }),
  );
  const norms = ["embeddings", `${layer}.attention.output`, `${layer}.output`];
  const tensors = [
    filled("embeddings.word_embeddings.weight", Object.keys(vocab).length, hidden),
    filled("embeddings.position_embeddings.weight", positions, hidden),
    filled("embeddings.token_type_embeddings.weight", types, hidden),
    ...norms.flatMap((name) => [
      filled(`${name}.LayerNorm.weight`, hidden),
      filled(`${name}.LayerNorm.bias`, hidden),
    ]),
    ...layers.flatMap(([name, from, to], at) => [
      filled(`${layer}.${name}.bias`, to),
      filled(`onnx::MatMul_${at}`, from, to),
    ]),
  ];
  const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  const special = Object.entries(vocab).filter(([piece]) => piece.startsWith("["));
  return {
    "onnx/model.onnx": onnxBytes(nodes, tensors),
    "tokenizer.json": encode({
      added_tokens: special.map(([content, id]) => ({ id, content, special: true })),
      model: { unk_token: "[UNK]", vocab },
    }),
    "config.json": encode({
      hidden_size: hidden,
      intermediate_size: inner,
      layer_norm_eps: 1e-12,
      max_position_embeddings: positions,
      num_attention_heads: 4,
      num_hidden_layers: 1,
      type_vocab_size: types,
    }),
  };
}
