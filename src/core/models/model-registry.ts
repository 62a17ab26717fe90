/** Looks up a node's models and their tokenizers by name. */
import { NodeError } from "../errors.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import { quoted } from "../quoted.ts";
import type {
  ChatModel,
  EmbeddingModel,
  LoadedModel,
  ModelCard,
  ModelType,
  RerankingModel,
} from "./model.ts";

/** Knows every configured model from the start; each is ready once it is loaded, or can be on demand. */
export class ModelRegistry {
  readonly #types: Map<string, ModelType>;
  readonly #loaded = new Map<string, LoadedModel>();
  readonly #awaited = new Map<string, NodeError>();

  constructor(configured: readonly { name: string; type: ModelType }[]) {
    this.#types = new Map(configured.map(({ name, type }) => [name, type]));
  }

  add(model: LoadedModel): void {
    const { name, type } = model.card;
    this.#types.set(name, type);
    this.#loaded.set(name, model);
    this.#awaited.delete(name);
  }

  remove(name: string): void {
    this.#types.delete(name);
    this.#loaded.delete(name);
  }

  /** Lists this model first: clients without a choice of their own use the first. */
  putFirst(name: string): void {
    const type = this.#types.get(name);
    if (type === undefined) return;
    const others = [...this.#types].filter(([other]) => other !== name);
    this.#types.clear();
    for (const [each, itsType] of [[name, type] as const, ...others])
      this.#types.set(each, itsType);
  }

  unavailable(name: string, reason: NodeError): void {
    this.#awaited.set(name, reason);
  }

  /** Undefined if there is no such model. */
  typeOf(name: string): ModelType | undefined {
    return this.#types.get(name);
  }

  /** Whether its last load failed: its file may be another by now. */
  hasFailed(name: string): boolean {
    return this.#loaded.get(name)?.residence?.().error !== undefined;
  }

  /** The models that are ready, in the order of the configuration. */
  all(): LoadedModel[] {
    return [...this.#types.keys()].flatMap((name) => this.#loaded.get(name) ?? []);
  }

  cards(): ModelCard[] {
    return this.all().map(({ card }) => card);
  }

  /** A model of any type. */
  find(name: string): LoadedModel {
    const type = this.#types.get(name);
    if (type === undefined) throw this.notFound(name);
    return this.#find(name, type);
  }

  card(name: string): ModelCard {
    return this.find(name).card;
  }

  /** For images to a model that cannot see; names those that can. `what`: begins the sentence. */
  cannotSee(name: string, what: string, param: string): NodeError {
    const seeing = this.cards().flatMap((card) => (card.vision ? card.name : []));
    const others =
      seeing.length === 0
        ? "No model of this node reads images."
        : `Models of this node that read images: ${seeing.join(", ")}.`;
    const why = `${what}, and the model ${quoted(name)} reads text only, no images. ${others}`;
    return new NodeError("invalid_request", why, { param });
  }

  problems(): string[] {
    return [...this.#types.keys()].flatMap((name) => {
      const model = this.#loaded.get(name);
      const awaited = this.#awaited.get(name)?.message;
      if (model === undefined) return awaited ?? `The model '${name}' is being prepared.`;
      return model.problem?.() ?? [];
    });
  }

  chat(name: string): ChatModel {
    return this.#find(name, "chat");
  }

  embedding(name: string): EmbeddingModel {
    return this.#find(name, "embedding");
  }

  reranker(name: string): RerankingModel {
    return this.#find(name, "reranker");
  }

  #find<Type extends ModelType>(name: string, wanted: Type): LoadedModel & { type: Type } {
    if (this.#types.get(name) !== wanted) throw this.notFound(name, wanted);
    const model = this.#loaded.get(name);
    const awaited = this.#awaited.get(name);
    if (model === undefined && awaited !== undefined) {
      // Without its field, which belongs to the node's own request to the model's server.
      const { kind, message, retryAfterMs } = awaited;
      throw new NodeError(kind, message, { cause: awaited, retryAfterMs });
    }
    if (model === undefined) {
      const why = `The model '${name}' is still being prepared. Try again in a moment.`;
      throw new NodeError("model_not_ready", why, { param: "model" });
    }
    if (!isOf(model, wanted)) throw this.notFound(name, wanted);
    return model;
  }

  /** For a model that is missing, or of none of these types; none: any type. */
  notFound(name: string, ...wanted: readonly ModelType[]): NodeError {
    const isWanted = (type: ModelType): boolean => wanted.length === 0 || wanted.includes(type);
    const names = [...this.#types].flatMap(([known, type]) => (isWanted(type) ? known : []));
    const all = wanted.length === 0 ? "Its" : `The ${wanted.join(" and ")}`;
    const has =
      names.length === 0
        ? `This node has no ${wanted.join(" or ")} model.`
        : `${all} models${wanted.length === 0 ? "" : " of this node"} are: ${names.join(", ")}.`;
    const other = this.#types.get(name);
    const why = other === undefined ? "is not on this node" : `is a model of type '${other}'`;
    const message = `The model ${quoted(name)} ${why}. ${has}`;
    return new NodeError("model_not_found", message, { param: "model" });
  }
}

const isOf = <Type extends ModelType>(
  model: LoadedModel,
  type: Type,
): model is LoadedModel & { type: Type } => model.type === type;

export interface ModelTokenizer {
  tokenizer: Tokenizer;
  contextSize: number;
}

/** Throws for a model that is missing or not ready, and for one whose vocabulary is not known here. */
export function tokenizerOf(models: ModelRegistry, name: string): ModelTokenizer {
  const { type } = models.card(name);
  if (type === "reranker") throw models.notFound(name, "chat", "embedding");
  const engine = type === "chat" ? models.chat(name).engine : models.embedding(name).engine;
  const { tokenizer } = engine;
  const contextSize = "contextSize" in engine ? engine.contextSize : engine.maxTokens;
  if (tokenizer !== undefined) return { tokenizer, contextSize };
  const why = `The model '${name}' runs upstream, on a server that does not tell its tokens. Use a model of this machine, or a tokenizer of your own.`;
  throw new NodeError("invalid_request", why, { param: "model" });
}
