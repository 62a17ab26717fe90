/** Writes a small ONNX file, as PyTorch's exporter lays it out. */

export interface OnnxTensor {
  name: string;
  dims: readonly number[];
  values: readonly number[];
  /** ONNX's number of the type; default: float. */
  type?: number;
}

export interface OnnxNode {
  name: string;
  operation: string;
  inputs: readonly string[];
}

export function onnxBytes(nodes: readonly OnnxNode[], tensors: readonly OnnxTensor[]): Uint8Array {
  const graph = [
    ...nodes.map(({ name, operation, inputs }) =>
      field(1, [
        ...inputs.map((input) => field(1, text(input))),
        field(3, text(name)),
        field(4, text(operation)),
      ]),
    ),
    ...tensors.map(({ name, dims, values, type = 1 }) =>
      field(5, [
        ...dims.map((size) => Buffer.from([1 << 3, ...varint(size)])),
        Buffer.from([2 << 3, ...varint(type)]),
        field(8, text(name)),
        field(9, [Buffer.from(Float32Array.from(values).buffer)]),
      ]),
    ),
  ];
  return Buffer.concat([Buffer.from([1 << 3, 6]), field(2, text("pytorch")), field(7, graph)]);
}

const text = (value: string): Buffer[] => [Buffer.from(value)];

function field(number: number, content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
