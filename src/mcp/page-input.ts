/** What a tool that lists is asked for. */
import { Type as T } from "@sinclair/typebox";

export const pageInput = ({ usual, most }: { usual: number; most: number }) => ({
  limit: T.Optional(
    T.Integer({ minimum: 1, maximum: most, default: usual, description: "Most items." }),
  ),
  cursor: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description: "`next_cursor` of the page before.",
    }),
  ),
});
