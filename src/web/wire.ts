/** What the page reads of the node's answers. The node serves both, so they fit. */

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Point {
  source: string;
  score: number;
  metadata?: { id: string; document: string | null; heading: string | null; position: number };
}

export interface Retrieval {
  points: Point[];
  dropped: number;
  carried?: number;
  error?: string;
  notice?: string;
}

export interface Chunk {
  choices: {
    delta: { content?: string; reasoning_content?: string };
    finish_reason: string | null;
  }[];
  usage?: Usage | null;
  retrieval?: Retrieval;
  error?: { message: string };
}

export interface RetrieveResult {
  points: Point[];
  limit: number;
  score_threshold: number;
}

export interface ModelInfo {
  name: string;
  type: "chat" | "embedding";
  prompt_template: string;
  n_predict: number;
  n_gpu_layers: number;
  ctx_size: number;
  batch_size: number;
  temperature: number;
  top_p: number;
  repeat_penalty: number;
  presence_penalty: number;
  frequency_penalty: number;
}

export interface NodeInfo {
  version: string;
  plugin_version: string;
  models: ModelInfo[];
  vectorstore_config: {
    url: string;
    collection_name: string;
    limit: number;
    score_threshold: number;
  };
}

export interface ModelList {
  data: { id: string; created: number; owned_by: string }[];
}

export interface Readiness {
  status: "ready" | "not ready";
  reasons: string[];
}
