/** Cosine similarity, for collections whose own distance is another. */

export function cosine(a: Float32Array, b: Float32Array): number {
  const lengths = length(a) * length(b);
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}

const length = (vector: Float32Array): number => Math.sqrt(dot(vector, vector));

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
