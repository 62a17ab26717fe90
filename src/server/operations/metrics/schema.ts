/** The node's numbers on the wire. */
import { Type as T } from "@sinclair/typebox";

export const Metrics = T.String({ description: "Prometheus' text format, version 0.0.4." });
