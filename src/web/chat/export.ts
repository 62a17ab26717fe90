/** A conversation as a file to download: JSON or Markdown. */
import type { Conversation, Turn } from "./conversation.ts";

export const exportFormats = {
  JSON: { extension: "json", type: "application/json", toText: toJson },
  Markdown: { extension: "md", type: "text/markdown", toText: toMarkdown },
} as const;

function toJson(conversation: Conversation): string {
  return `${JSON.stringify(conversation, null, 2)}\n`;
}

function toMarkdown({ title, createdAt, settings, turns }: Conversation): string {
  const system = settings.system.trim() === "" ? [] : [`> ${lines(settings.system).join("\n> ")}`];
  const parts = [`# ${title}`, `${settings.model}, ${createdAt}`, ...system, ...turns.map(toPart)];
  return `${parts.join("\n\n")}\n`;
}

function toPart(turn: Turn): string {
  if (turn.role === "user") return `## You\n\n${turn.content}`;
  const sources = (turn.retrieval?.points ?? []).map(({ metadata, score }, at) => {
    const place = [metadata?.document, metadata?.heading].filter(Boolean).join(", ");
    return `${at + 1}. ${place || "A passage"} (${score.toFixed(2)})`;
  });
  const listed = sources.length === 0 ? "" : `\n\nSources:\n\n${sources.join("\n")}`;
  return `## ${turn.model}\n\n${turn.content}${listed}`;
}

const lines = (text: string): string[] => text.trim().split("\n");

export function fileNameOf({ title }: Conversation, extension: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return `${name || "conversation"}.${extension}`;
}
