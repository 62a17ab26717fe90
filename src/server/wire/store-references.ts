/** Vector stores that are searched as one, on the wire. */
import { Type as T } from "@sinclair/typebox";

/** Each is searched for itself. */
const most = 16;

export const StoreReferences = T.Array(T.String({ minLength: 1 }), { minItems: 1, maxItems: most });
