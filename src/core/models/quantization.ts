/** The forms that weights can be transcoded into. */

export const quantizations = ["f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_k_s", "q4_0"] as const;

export type Quantization = (typeof quantizations)[number];
