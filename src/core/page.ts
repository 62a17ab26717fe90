/** Pages of lists, as OpenAI's API cuts them: a cursor is the id of an item. */

export interface PageRequest {
  limit: number;
  order: "asc" | "desc";
  /** The items behind this one. */
  after?: string;
  /** The items in front of this one. */
  before?: string;
}

export interface Page<Item> {
  items: readonly Item[];
  /** Whether there are more in the direction that was asked for. */
  hasMore: boolean;
}
