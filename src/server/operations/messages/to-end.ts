/** Why an answer ended, in the words of Anthropic's API. */
import type { Finish } from "../../../core/ports/chat-engine.ts";
import type { Message, StopReason } from "./answer-schema.ts";

export interface EndBounds {
  /** The caller's own; others may have ended the answer too. */
  stops: readonly string[];
  maxTokens: number;
  contextSize: number;
}

type End = Pick<Message, "stop_reason" | "stop_sequence" | "stop_details" | "container">;

export function toEnd(finish: Finish, bounds: EndBounds): End {
  const { stop } = finish;
  const met = stop !== undefined && bounds.stops.includes(stop) ? stop : null;
  const reason = toStopReason(finish, met, bounds);
  return {
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? met : null,
    stop_details:
      reason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
    container: null,
  };
}

function toStopReason(
  { reason, usage }: Finish,
  met: string | null,
  bounds: EndBounds,
): StopReason {
  switch (reason) {
    case "stop":
      return met === null ? "end_turn" : "stop_sequence";
    case "tool_calls":
      return "tool_use";
    case "content_filter":
      return "refusal";
    case "length": {
      const { promptTokens, completionTokens } = usage;
      const isFull = promptTokens + completionTokens >= bounds.contextSize;
      return isFull && completionTokens < bounds.maxTokens
        ? "model_context_window_exceeded"
        : "max_tokens";
    }
  }
}
