/*
 * A step of llama.cpp in one call: decodes a batch, then samples or pools what it needs. Compiled by
 * bun:ffi when a model is loaded (c-interface.ts). Declares only what it calls.
 */

/* No header is included: a machine that runs this may have none. */
typedef signed char int8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef __SIZE_TYPE__ size_t;
#define NULL ((void *)0)

void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
float expf(float);

/* Of Linux's C libraries on 64 bits; all zero is a mutex that is open. */
typedef struct {
  long long words[8];
} pthread_mutex_t;
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_work__ *napi_work;
typedef struct napi_deferred__ *napi_deferred;
int napi_unwrap(napi_env, napi_value, void **);
int napi_create_promise(napi_env, napi_deferred *, napi_value *);
int napi_resolve_deferred(napi_env, napi_deferred, napi_value);
int napi_create_int32(napi_env, int32_t, napi_value *);
int napi_create_string_utf8(napi_env, const char *, size_t, napi_value *);
int napi_create_async_work(napi_env, napi_value, napi_value, void (*)(napi_env, void *),
                           void (*)(napi_env, int, void *), void *, napi_work *);
int napi_queue_async_work(napi_env, napi_work);
int napi_delete_async_work(napi_env, napi_work);

typedef struct llama_context llama_context;
typedef struct llama_model llama_model;
typedef struct llama_vocab llama_vocab;
typedef struct llama_sampler llama_sampler;
typedef struct {
  int32_t n_tokens;
  int32_t *token;
  float *embd;
  int32_t *pos;
  int32_t *n_seq_id;
  int32_t **seq_id;
  int8_t *logits;
} llama_batch;
typedef struct {
  int32_t token;
  float bias;
} llama_logit_bias;
typedef struct {
  int32_t id;
  float logit, probability;
} llama_token_data;
typedef struct {
  llama_token_data *data;
  size_t size;
  long long selected;
  _Bool sorted;
} llama_token_data_array;
typedef struct {
  _Bool no_perf;
} llama_sampler_chain_params;
int32_t llama_decode(llama_context *, llama_batch);
uint32_t llama_n_seq_max(const llama_context *);
uint32_t llama_n_batch(const llama_context *);
const llama_model *llama_get_model(const llama_context *);
const llama_vocab *llama_model_get_vocab(const llama_model *);
int32_t llama_vocab_n_tokens(const llama_vocab *);
_Bool llama_vocab_is_eog(const llama_vocab *, int32_t);
void llama_set_n_threads(llama_context *, int32_t, int32_t);
void llama_attach_threadpool(llama_context *, void *, void *);
float *llama_get_embeddings_seq(llama_context *, int32_t);
float *llama_get_logits_ith(llama_context *, int32_t);
int32_t llama_sampler_sample(llama_sampler *, llama_context *, int32_t);
void llama_sampler_apply(llama_sampler *, llama_token_data_array *);
void llama_sampler_accept(llama_sampler *, int32_t);
void llama_sampler_reset(llama_sampler *);
void llama_sampler_free(llama_sampler *);
llama_sampler *llama_sampler_chain_init(llama_sampler_chain_params);
void llama_sampler_chain_add(llama_sampler *, llama_sampler *);
llama_sampler *llama_sampler_init_greedy(void);
llama_sampler *llama_sampler_init_dist(uint32_t);
llama_sampler *llama_sampler_init_top_k(int32_t);
llama_sampler *llama_sampler_init_top_p(float, size_t);
llama_sampler *llama_sampler_init_min_p(float, size_t);
llama_sampler *llama_sampler_init_temp(float);
llama_sampler *llama_sampler_init_penalties(int32_t, int32_t, float, float, float);
llama_sampler *llama_sampler_init_dry(const llama_vocab *, float, float, int32_t, int32_t,
                                      const char **, size_t);
llama_sampler *llama_sampler_init_logit_bias(int32_t, int32_t, const llama_logit_bias *);
llama_sampler *llama_sampler_init_grammar(const llama_vocab *, const char *, const char *);

typedef struct {
  _Bool cpumask[512];
  int n_threads;
  int prio;
  uint32_t poll;
  _Bool strict_cpu;
  _Bool paused;
} ggml_threadpool_params;
void ggml_threadpool_params_init(ggml_threadpool_params *, int);
void *ggml_backend_dev_by_type(int);
void *ggml_backend_dev_backend_reg(void *);
void *ggml_backend_reg_get_proc_address(void *, const char *);

/* Words of the addon's object that are searched, and bytes of the parameters that follow the model. */
enum { searched_words = 16, context_params_bytes = 160, cpu_device = 0 };

/* llama.cpp's context behind the addon's object: its model's address, the parameters, then this pointer. */
void *find_context(napi_env env, napi_value context, napi_value model) {
  void **words;
  void *wrapped_model;
  if (napi_unwrap(env, context, (void **)&words) || napi_unwrap(env, model, &wrapped_model)) {
    return NULL;
  }
  for (int at = 0; at < searched_words; at++) {
    if (words[at] == wrapped_model) return *(void **)((char *)&words[at + 1] + context_params_bytes);
  }
  return NULL;
}

static const llama_vocab *vocab_of(llama_context *context) {
  return llama_model_get_vocab(llama_get_model(context));
}

int sequences_of(llama_context *context) { return (int)llama_n_seq_max(context); }
int batch_of(llama_context *context) { return (int)llama_n_batch(context); }

/*
 * More threads than these spin for some milliseconds before they sleep: woken together, many land on
 * the same core first. Fewer are quicker asleep, since the loop between steps needs a core too.
 */
enum { few_threads = 4, spinning = 10 };

/* Threads that stay between steps; NULL if there is no CPU backend. */
void *make_threads(int count) {
  void *device = ggml_backend_dev_by_type(cpu_device);
  if (device == NULL) return NULL;
  void *backend = ggml_backend_dev_backend_reg(device);
  void *(*make)(ggml_threadpool_params *) = ggml_backend_reg_get_proc_address(backend, "ggml_threadpool_new");
  if (make == NULL) return NULL;
  ggml_threadpool_params params;
  ggml_threadpool_params_init(&params, count);
  params.poll = count > few_threads ? spinning : 0;
  return make(&params);
}

/* All threads of a pool end; no context may use it any more. */
void free_threads(void *threads) {
  void *backend = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(cpu_device));
  void (*end)(void *) = ggml_backend_reg_get_proc_address(backend, "ggml_threadpool_free");
  if (end != NULL) end(threads);
}

/* What the tokens of a sequence are sampled with. */
typedef struct {
  llama_sampler *chain;
  /* What they have to fit, or NULL; not its own. */
  llama_sampler *grammar;
  /* Of how many of the likeliest tokens the logits are wanted; 0: of none, nor of the sampled one. */
  int32_t top;
  /* Room for the whole vocabulary, if any of these is used. */
  llama_token_data *candidates;
  int32_t candidate_count;
} sampler;

/* Of a sampled token, in the order of native-step.ts: its logit, the sum of exp(logit - greatest) over all, and the likeliest. */
enum { most_top = 20 };
typedef struct {
  float logit, weight;
  int32_t count;
  int32_t ids[most_top];
  float logits[most_top];
} scores;

/* What JavaScript writes before a step, and reads after it. All arrays have an entry for each token. */
typedef struct {
  llama_context *context;
  llama_batch batch;
  int32_t *sequences;
  /* The sampler of the token after this one, or NULL. */
  sampler **samplers;
  /* As many for each time that the batch was computed as it has tokens; -1: none was left to choose from. */
  int32_t *sampled;
  scores *scores;
  int32_t most_times;
  /* Changed while the step is in progress, under the mutex. */
  int32_t times;
  _Bool halted;
  pthread_mutex_t mutex;
  /* Vectors of the first sequences, one after the other. */
  float *vectors;
  int32_t vector_count;
  int32_t dimension;
  int32_t result;
  napi_work work;
  napi_deferred deferred;
} step;

void free_step(step *made) {
  free(made->batch.token);
  free(made->batch.pos);
  free(made->batch.n_seq_id);
  free(made->batch.seq_id);
  free(made->batch.logits);
  free(made->sequences);
  free(made->samplers);
  free(made->sampled);
  free(made->scores);
  free(made->vectors);
  free(made);
}

/* For at most `tokens` a batch, and `vectors` of `dimension` numbers. */
step *make_step(llama_context *context, int tokens, int vectors, int dimension) {
  step *made = calloc(1, sizeof(step));
  llama_batch batch = {0};
  batch.token = malloc(tokens * sizeof(int32_t));
  batch.pos = malloc(tokens * sizeof(int32_t));
  batch.n_seq_id = malloc(tokens * sizeof(int32_t));
  batch.seq_id = malloc(tokens * sizeof(int32_t *));
  batch.logits = malloc(tokens);
  made->context = context;
  made->batch = batch;
  made->sequences = malloc(tokens * sizeof(int32_t));
  made->samplers = malloc(tokens * sizeof(sampler *));
  made->sampled = malloc(tokens * sizeof(int32_t));
  made->scores = malloc(tokens * sizeof(scores));
  made->vectors = vectors > 0 ? malloc((size_t)vectors * dimension * sizeof(float)) : NULL;
  made->dimension = dimension;
  for (int at = 0; at < tokens; at++) {
    batch.n_seq_id[at] = 1;
    batch.seq_id[at] = &made->sequences[at];
    made->samplers[at] = NULL;
  }
  return made;
}

void *tokens_of(step *made) { return made->batch.token; }
void *positions_of(step *made) { return made->batch.pos; }
void *outputs_of(step *made) { return made->batch.logits; }
void *sequence_ids_of(step *made) { return made->sequences; }
void *samplers_of(step *made) { return made->samplers; }
void *sampled_of(step *made) { return made->sampled; }
void *scores_of(step *made) { return made->scores; }
void *vectors_of(step *made) { return made->vectors; }

static llama_token_data_array candidates_of(sampler *used, llama_context *context, int output) {
  float *logits = llama_get_logits_ith(context, output);
  llama_token_data_array all = {used->candidates, logits == NULL ? 0 : used->candidate_count, -1, 0};
  for (int id = 0; id < (int)all.size; id++) {
    all.data[id].id = id;
    all.data[id].logit = logits[id];
    all.data[id].probability = 0;
  }
  return all;
}

static _Bool is_chosen(llama_token_data_array *all) {
  return all->selected >= 0 && all->selected < (long long)all->size;
}

/* A grammar makes the logit of what does not fit minus infinity. */
static _Bool is_possible(llama_token_data *candidate) { return candidate->logit > -3.4e38f; }

static _Bool fits(llama_sampler *grammar, int id) {
  llama_token_data candidate = {id, 1, 0};
  llama_token_data_array one = {&candidate, 1, -1, 0};
  llama_sampler_apply(grammar, &one);
  return is_possible(&candidate);
}

static void score(scores *told, llama_token_data_array *all, int top) {
  told->logit = all->data[all->selected].logit;
  told->count = 0;
  for (size_t at = 0; at < all->size; at++) {
    float logit = all->data[at].logit;
    if (told->count == top && logit <= told->logits[top - 1]) continue;
    int place = told->count < top ? told->count++ : top - 1;
    for (; place > 0 && told->logits[place - 1] < logit; place--) {
      told->logits[place] = told->logits[place - 1];
      told->ids[place] = told->ids[place - 1];
    }
    told->logits[place] = logit;
    told->ids[place] = all->data[at].id;
  }
  told->weight = 0;
  for (size_t at = 0; at < all->size; at++) told->weight += expf(all->data[at].logit - told->logits[0]);
}

/* The token after an output; -1: none is left to choose from. */
static int32_t sample(sampler *used, llama_context *context, const llama_vocab *vocab, int output, scores *told) {
  if (used->candidates == NULL) return llama_sampler_sample(used->chain, context, output);
  llama_token_data_array all = candidates_of(used, context, output);
  /* To ask a grammar about the whole vocabulary takes long, and what was sampled usually fits. */
  _Bool asks_first = used->grammar != NULL && used->top > 0;
  if (asks_first) llama_sampler_apply(used->grammar, &all);
  llama_sampler_apply(used->chain, &all);
  if (!is_chosen(&all)) return -1;
  if (used->grammar != NULL && !asks_first && !fits(used->grammar, all.data[all.selected].id)) {
    all = candidates_of(used, context, output);
    llama_sampler_apply(used->grammar, &all);
    llama_sampler_apply(used->chain, &all);
  }
  if (!is_chosen(&all) || !is_possible(&all.data[all.selected])) return -1;
  int32_t id = all.data[all.selected].id;
  if (used->top > 0) score(told, &all, used->top);
  llama_sampler_accept(used->chain, id);
  if (used->grammar != NULL && !llama_vocab_is_eog(vocab, id)) llama_sampler_accept(used->grammar, id);
  return id;
}

/* Decodes and samples; returns whether it may be done again. */
static _Bool run_once(step *made, const llama_vocab *vocab) {
  int first = made->times * made->batch.n_tokens;
  int32_t *sampled = made->sampled + first;
  _Bool ended = 0;
  made->result = llama_decode(made->context, made->batch);
  if (made->result != 0) return 0;
  for (int at = 0; at < made->batch.n_tokens; at++) {
    if (made->samplers[at] == NULL) continue;
    sampled[at] = sample(made->samplers[at], made->context, vocab, at, made->scores + first + at);
    ended |= sampled[at] < 0 || llama_vocab_is_eog(vocab, sampled[at]);
  }
  pthread_mutex_lock(&made->mutex);
  made->times++;
  _Bool again = !ended && !made->halted && made->times < made->most_times;
  pthread_mutex_unlock(&made->mutex);
  return again;
}

/* Several times only where every token is the last of an answer: each is followed by what was sampled. */
static void run(step *made) {
  const llama_vocab *vocab = vocab_of(made->context);
  while (run_once(made, vocab)) {
    int32_t *sampled = made->sampled + (made->times - 1) * made->batch.n_tokens;
    for (int at = 0; at < made->batch.n_tokens; at++) {
      made->batch.token[at] = sampled[at];
      made->batch.pos[at]++;
    }
  }
  if (made->result != 0) return;
  for (int at = 0; at < made->vector_count; at++) {
    float *vector = llama_get_embeddings_seq(made->context, at);
    if (vector == NULL) {
      made->result = -1;
      return;
    }
    memcpy(made->vectors + (size_t)at * made->dimension, vector, made->dimension * sizeof(float));
  }
}

/* Whoever computes with the context next does so without these threads, and may free them then. */
static void run_all(step *made) {
  run(made);
  llama_attach_threadpool(made->context, NULL, NULL);
}

/* llama.cpp pauses the pool of the step before, if it was another: threads that are too many do not spin. */
static void prepare(step *made, void *pool, int tokens, int vectors, int threads, int most_times) {
  made->batch.n_tokens = tokens;
  made->most_times = most_times;
  made->times = 0;
  made->halted = 0;
  made->vector_count = vectors;
  llama_attach_threadpool(made->context, pool, pool);
  llama_set_n_threads(made->context, threads, threads);
}

/* How many times the batch was computed, so far or by the last call. */
int times_of(step *made) {
  pthread_mutex_lock(&made->mutex);
  int times = made->times;
  pthread_mutex_unlock(&made->mutex);
  return times;
}

/* A step in progress ends after the present time. */
void halt(step *made) {
  pthread_mutex_lock(&made->mutex);
  made->halted = 1;
  pthread_mutex_unlock(&made->mutex);
}

/* Computes in this thread; returns llama_decode's result. */
int run_here(step *made, void *pool, int tokens, int vectors, int threads, int most_times) {
  prepare(made, pool, tokens, vectors, threads, most_times);
  run_all(made);
  return made->result;
}

static void execute(napi_env env, void *made) { run_all(made); }

static void complete(napi_env env, int status, void *data) {
  step *made = data;
  napi_value result;
  napi_create_int32(env, status == 0 ? made->result : -1, &result);
  napi_resolve_deferred(env, made->deferred, result);
  napi_delete_async_work(env, made->work);
}

/* Computes in another thread; returns a promise of llama_decode's result. */
napi_value run_beside(napi_env env, step *made, void *pool, int tokens, int vectors, int threads,
                      int most_times) {
  napi_value promise, name;
  prepare(made, pool, tokens, vectors, threads, most_times);
  napi_create_promise(env, &made->deferred, &promise);
  napi_create_string_utf8(env, "step", 4, &name);
  napi_create_async_work(env, NULL, name, execute, complete, made, &made->work);
  napi_queue_async_work(env, made->work);
  return promise;
}

/* Numbers of a sampler, in the order of c-interface.ts; a filter that is off has the value that says so. */
typedef struct {
  float temperature, top_p, min_p, repeat, frequency, presence, dry_strength, dry_base;
  int32_t top_k, last_tokens, dry_length, dry_last_tokens, past_count, bias_count, top;
  uint32_t seed;
} sampler_numbers;

/* `past`: tokens that count as repeated; `biases`: pairs of a token and a float. */
static llama_sampler *make_chain(const llama_vocab *vocab, sampler_numbers *n, int32_t *past,
                                 llama_logit_bias *biases) {
  llama_sampler_chain_params params = {1};
  llama_sampler *chain = llama_sampler_chain_init(params);
  int32_t size = llama_vocab_n_tokens(vocab);
  if (n->bias_count > 0) {
    llama_sampler_chain_add(chain, llama_sampler_init_logit_bias(size, n->bias_count, biases));
  }
  if (n->last_tokens > 0) {
    llama_sampler *penalties =
        llama_sampler_init_penalties(size, n->last_tokens, n->repeat, n->frequency, n->presence);
    for (int at = 0; at < n->past_count; at++) llama_sampler_accept(penalties, past[at]);
    llama_sampler_chain_add(chain, penalties);
  }
  if (n->dry_strength > 0) {
    llama_sampler_chain_add(chain, llama_sampler_init_dry(vocab, n->dry_strength, n->dry_base,
                                                          n->dry_length, n->dry_last_tokens, NULL, 0));
  }
  if (n->temperature <= 0) {
    llama_sampler_chain_add(chain, llama_sampler_init_greedy());
    return chain;
  }
  if (n->top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(n->top_k));
  if (n->top_p < 1) llama_sampler_chain_add(chain, llama_sampler_init_top_p(n->top_p, 1));
  if (n->min_p > 0) llama_sampler_chain_add(chain, llama_sampler_init_min_p(n->min_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(n->temperature));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(n->seed));
  return chain;
}

sampler *make_sampler(llama_context *context, llama_sampler *grammar, sampler_numbers *n, int32_t *past,
                      llama_logit_bias *biases) {
  const llama_vocab *vocab = vocab_of(context);
  sampler *made = malloc(sizeof(sampler));
  made->chain = make_chain(vocab, n, past, biases);
  made->grammar = grammar;
  made->top = n->top < most_top ? n->top : most_top;
  made->candidate_count = llama_vocab_n_tokens(vocab);
  made->candidates =
      grammar != NULL || made->top > 0 ? malloc(made->candidate_count * sizeof(llama_token_data)) : NULL;
  return made;
}

void free_sampler(sampler *made) {
  llama_sampler_free(made->chain);
  free(made->candidates);
  free(made);
}

/* The token that follows an output of the last step. */
int sample_at(sampler *used, llama_context *context, int output) {
  scores told;
  return sample(used, context, vocab_of(context), output, &told);
}

/* NULL if llama.cpp cannot read it. */
llama_sampler *make_grammar(llama_context *context, const char *text) {
  return llama_sampler_init_grammar(vocab_of(context), text, "root");
}

/* To its beginning, and on to after these tokens. */
void rewind_grammar(llama_sampler *grammar, int32_t *tokens, int count) {
  llama_sampler_reset(grammar);
  for (int at = 0; at < count; at++) llama_sampler_accept(grammar, tokens[at]);
}

void free_grammar(llama_sampler *grammar) { llama_sampler_free(grammar); }
