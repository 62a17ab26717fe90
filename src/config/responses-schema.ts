/** Which responses are kept, and how many are made in the background. */
import { Type as T } from "@sinclair/typebox";

const tenYears = 10 * 365 * 24 * 60 * 60;

export const Responses = T.Object(
  {
    keep_for: T.Integer({
      minimum: 0,
      maximum: tenYears,
      default: 30 * 24 * 60 * 60,
      description:
        "How long a response is kept with its conversation, in seconds; those that are there already, too. 0: nothing is kept.",
    }),
    max_bytes: T.Integer({
      minimum: 1024 * 1024,
      default: 1024 * 1024 * 1024,
      description:
        "Bytes of all responses that are kept; beyond it the oldest of the key that stores most go.",
    }),
    max_response_bytes: T.Integer({
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      default: 8 * 1024 * 1024,
      description: "Bytes of one, with its conversation; a larger one is answered, and not kept.",
    }),
    max_background: T.Integer({
      minimum: 1,
      maximum: 1024,
      default: 4,
      description: "How many responses with `background` are made at the same time.",
    }),
    max_queue: T.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 64,
      description:
        "How many more of them wait for their turn, half of these of one caller; beyond that they are refused.",
    }),
  },
  { additionalProperties: false, default: {} },
);
