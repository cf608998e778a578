/*
 * Strop's C API: strop.h for other languages, and for those who need a stable ABI. C99; no C++ types.
 *
 *   strop_engine* engine = NULL;
 *   strop_context* context = NULL;
 *   strop_error error = STROP_ERROR_INIT;
 *   if (strop_engine_load("model.strop", NULL, NULL, &engine, &error) != STROP_OK) return fail(&error);
 *   if (strop_context_create(engine, NULL, &context, &error) != STROP_OK) return fail(&error);
 *   strop_context_bind(context, "x", &input, &error);     (strop_tensor input = STROP_TENSOR_INIT; …)
 *   strop_context_run(context, &error);
 *   strop_context_output(context, "y", &output, &error);
 *   strop_context_free(context);
 *   strop_engine_free(engine);
 *
 * Rules, the same everywhere:
 *  - What can fail returns a code, STROP_OK on success, and describes the failure in `error`, which may be null. After
 * a failure, results are untouched.
 *  - Handles come from a function with a pointer to a handle as result, and end with the _free of their type, which
 *    takes null. They share what they need: an engine may be freed while its contexts live.
 *  - Structs begin with their size, which the _INIT macros set: a library knows from it which fields its caller's
 * header had. Pointers to options may be null: the defaults.
 *  - Strings are zero-terminated UTF-8 and copied when taken. A `char**` result is the caller's, to be freed with
 *    strop_string_free; a `const char*` belongs to the handle it came from.
 *  - Errors never need freeing. A null handle, a null name or a null result is STROP_INVALID_ARGUMENT.
 *  - A runtime and an engine may be used from several threads; a context by one thread at a time.
 *  - Callbacks must not throw C++ exceptions nor jump out.
 *
 * libstrop_runtime.so has what loads and runs engines; what only libstrop.so has stands at the end.
 */
#ifndef STROP_STROP_C_H
#define STROP_STROP_C_H

#include <stddef.h>
#include <stdint.h>

#define STROP_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

typedef int32_t strop_code;
enum {
  STROP_OK = 0,
  STROP_INVALID_ARGUMENT = 1, /* the request is wrong: unknown option, knob, name, illegal shape, null handle */
  STROP_INVALID_MODEL = 2,    /* the model is damaged, inconsistent or outside the ONNX specification */
  STROP_UNSUPPORTED = 3,      /* a legal model that needs something Strop does not do */
  STROP_INVALID_ENGINE = 4,   /* the engine is damaged, newer, or for another instruction set */
  STROP_NOT_FOUND = 5,        /* a file, tensor or record that was named does not exist */
  STROP_IO = 6,               /* reading or writing failed */
  STROP_OUT_OF_MEMORY = 7,    /* an allocation failed or a given limit was exceeded */
  STROP_DEVICE = 8,           /* the device or its driver failed or is missing */
  STROP_CANCELLED = 9,        /* the caller asked to stop */
  STROP_INTERNAL = 10         /* a bug of Strop */
};

/* The caller's. A caller that wants longer messages embeds the struct at the start of a larger block and says its size:
 * the message may then use all of it. */
typedef struct strop_error {
  size_t size;
  strop_code code;
  char message[1020]; /* one line: what, where, what to do; cut where it is longer */
} strop_error;
#define STROP_ERROR_INIT                 \
  {                                      \
    sizeof(strop_error), STROP_OK, { 0 } \
  }

/* "invalid_model"; "unknown" for what is no code. */
STROP_C_API const char* strop_code_name(strop_code code);
/* "0.1.0" */
STROP_C_API const char* strop_version(void);
STROP_C_API void strop_string_free(char* text);

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

/* Element types, with the codes of ONNX. */
typedef int32_t strop_dtype;
enum {
  STROP_UNDEFINED = 0,
  STROP_F32 = 1,
  STROP_U8 = 2,
  STROP_I8 = 3,
  STROP_U16 = 4,
  STROP_I16 = 5,
  STROP_I32 = 6,
  STROP_I64 = 7,
  STROP_STRING = 8,
  STROP_BOOL = 9,
  STROP_F16 = 10,
  STROP_F64 = 11,
  STROP_U32 = 12,
  STROP_U64 = 13,
  STROP_C64 = 14,
  STROP_C128 = 15,
  STROP_BF16 = 16,
  STROP_F8E4M3FN = 17,
  STROP_F8E4M3FNUZ = 18,
  STROP_F8E5M2 = 19,
  STROP_F8E5M2FNUZ = 20,
  STROP_U4 = 21,
  STROP_I4 = 22,
  STROP_F4E2M1 = 23,
  STROP_F8E8M0 = 24,
  STROP_U2 = 25,
  STROP_I2 = 26
};

/* "f32"; null for what is no element type. */
STROP_C_API const char* strop_dtype_name(strop_dtype dtype);
/* Bytes of `count` elements in dense memory, packed types rounded up; -1 for strings and what is no element type. */
STROP_C_API int64_t strop_dtype_bytes(strop_dtype dtype, int64_t count);

/* One element of a tensor of strings; may hold zeros. */
typedef struct strop_text {
  const char* data;
  size_t bytes;
} strop_text;

/* Somebody's memory seen as a tensor. */
typedef struct strop_tensor {
  size_t size;
  strop_dtype dtype;
  int32_t rank;
  const int64_t* dims;    /* `rank` of them */
  const int64_t* strides; /* elements from one index to the next, per axis; null: dense row-major */
  void* data;             /* the first element, aligned to the element; an array of strop_text for STROP_STRING */
} strop_tensor;
#define STROP_TENSOR_INIT \
  { sizeof(strop_tensor), STROP_UNDEFINED, 0, NULL, NULL, NULL }

/* ---- Runtime ----------------------------------------------------------------------------------------------------- */

typedef struct strop_runtime strop_runtime;

typedef int32_t strop_log_level;
enum { STROP_LOG_WARNING = 0, STROP_LOG_INFO = 1, STROP_LOG_DEBUG = 2 };

/* Threads of the caller's. `run` calls work(state, index) once for each index in [0, count), count <= threads, on
 * whatever threads, and returns when all calls have returned; none of them waits for another. It may itself be called
 * by several threads at the same time. */
typedef struct strop_thread_pool {
  size_t size;
  int32_t threads; /* that work at a time, the calling one included; at least 1 */
  void (*run)(void* user, int32_t count, void (*work)(void* state, int32_t index), void* state);
  void* user;
} strop_thread_pool;
#define STROP_THREAD_POOL_INIT \
  { sizeof(strop_thread_pool), 1, NULL, NULL }

/* Memory of the caller's, for arenas and for outputs that are not bound; used from several threads. */
typedef struct strop_allocator {
  size_t size;
  void* (*allocate)(void* user, size_t bytes, size_t alignment); /* null: there is none left */
  void (*deallocate)(void* user, void* memory, size_t bytes, size_t alignment);
  void* user;
} strop_allocator;
#define STROP_ALLOCATOR_INIT \
  { sizeof(strop_allocator), NULL, NULL, NULL }

typedef struct strop_runtime_options {
  size_t size;
  int32_t threads; /* kernels' workers, the calling thread included; 0: one per CPU this process may use */
  /* `message` has `bytes` bytes. Called from several threads. Null: warnings go to stderr. */
  void (*log)(void* user, strop_log_level level, const char* message, size_t bytes);
  void* log_user;
  const strop_thread_pool* thread_pool; /* instead of Strop's own; copied. Null: `threads` of Strop's */
  const strop_allocator* allocator;     /* copied. Null: the system's memory */
  /* Called with `release_user` once nothing uses the log, the pool and the allocator any more; may be null. */
  void (*release)(void* user);
  void* release_user;
  /* What the process's resident memory (without mapped files) may grow to. A run that needs more ends with
   * STROP_OUT_OF_MEMORY before it allocates. 0: three quarters of the memory there is for runs, any for builds.
   * Negative: any. */
  int64_t memory_limit_bytes;
} strop_runtime_options;
#define STROP_RUNTIME_OPTIONS_INIT \
  { sizeof(strop_runtime_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

STROP_C_API strop_code strop_runtime_create(const strop_runtime_options* options, strop_runtime** runtime,
                                            strop_error* error);
STROP_C_API int32_t strop_runtime_threads(const strop_runtime* runtime); /* 0 for null */
/* Builds and runs in progress, and later ones, end with STROP_CANCELLED. Safe from a signal handler. */
STROP_C_API void strop_runtime_cancel(strop_runtime* runtime);
STROP_C_API void strop_runtime_free(strop_runtime* runtime);

/* ---- Engine ------------------------------------------------------------------------------------------------------ */

typedef struct strop_engine strop_engine;

typedef struct strop_load_options {
  size_t size;
  const uint8_t* required_key; /* Ed25519 public key, 32 bytes: the engine must be signed by it; null: not looked at */
} strop_load_options;
#define STROP_LOAD_OPTIONS_INIT \
  { sizeof(strop_load_options), NULL }

typedef struct strop_save_options {
  size_t size;
  const uint8_t* signing_key; /* Ed25519 private key, 32 bytes; null: unsigned */
} strop_save_options;
#define STROP_SAVE_OPTIONS_INIT \
  { sizeof(strop_save_options), NULL }

typedef int32_t strop_port_kind;
enum { STROP_PORT_TENSOR = 0, STROP_PORT_SEQUENCE = 1, STROP_PORT_OPTIONAL = 2 };

/* One input or output of an engine. Its pointers belong to the engine handle. */
typedef struct strop_port {
  size_t size;
  const char* name;
  strop_port_kind kind;
  strop_dtype dtype;            /* of the tensor or the innermost element */
  int32_t rank;                 /* -1: not known */
  const int64_t* dims;          /* `rank` of them; -1 where it is not a number */
  const char* const* dim_texts; /* "3", "batch", "2*seq + 1" */
} strop_port;
#define STROP_PORT_INIT \
  { sizeof(strop_port), NULL, 0, 0, 0, NULL, NULL }

/* A null runtime makes one of its own. */
STROP_C_API strop_code strop_engine_load(const char* path, const strop_runtime* runtime,
                                         const strop_load_options* options, strop_engine** engine, strop_error* error);
/* From what an engine file holds; the bytes are copied. */
STROP_C_API strop_code strop_engine_load_from_memory(const void* bytes, size_t byte_count, const strop_runtime* runtime,
                                                     const strop_load_options* options, strop_engine** engine,
                                                     strop_error* error);
/* Complete under its name or not at all. */
STROP_C_API strop_code strop_engine_save(const strop_engine* engine, const char* path,
                                         const strop_save_options* options, strop_error* error);
STROP_C_API void strop_engine_free(strop_engine* engine);

STROP_C_API size_t strop_engine_input_count(const strop_engine* engine); /* 0 for null */
STROP_C_API size_t strop_engine_output_count(const strop_engine* engine);
/* `port->size` has to be set. */
STROP_C_API strop_code strop_engine_input(const strop_engine* engine, size_t index, strop_port* port,
                                          strop_error* error);
STROP_C_API strop_code strop_engine_output(const strop_engine* engine, size_t index, strop_port* port,
                                           strop_error* error);
/* "cpu (avx2)" */
STROP_C_API strop_code strop_engine_device(const strop_engine* engine, char** text, strop_error* error);
/* Hexadecimal; of what runs, and of the whole file. */
STROP_C_API strop_code strop_engine_plan_digest(const strop_engine* engine, char** text, strop_error* error);
STROP_C_API strop_code strop_engine_file_digest(const strop_engine* engine, char** text, strop_error* error);

/* ---- Running ----------------------------------------------------------------------------------------------------- */

typedef struct strop_context strop_context;

typedef struct strop_context_options {
  size_t size;
  int32_t max_cached_shapes; /* shape plans kept; 0: 16 */
  /* Gives the memory of an output that is not bound, once its shape is known, during each run. It stays the caller's
   * and is valid until the next run. Null result: there is none; the run ends with STROP_OUT_OF_MEMORY. */
  void* (*allocate_output)(void* user, const char* name, strop_dtype dtype, const int64_t* dims, int32_t rank);
  void* allocate_output_user;
} strop_context_options;
#define STROP_CONTEXT_OPTIONS_INIT \
  { sizeof(strop_context_options), 0, NULL, NULL }

typedef struct strop_memory_info {
  size_t size;
  int64_t arena_bytes;
  int64_t arena_lower_bound_bytes; /* the largest live set: no plan can need less */
  int64_t intermediate_bytes;      /* the sum of all intermediates, nothing shared */
  int64_t workspace_bytes;
  int64_t weight_bytes;
} strop_memory_info;
#define STROP_MEMORY_INFO_INIT \
  { sizeof(strop_memory_info), 0, 0, 0, 0, 0 }

STROP_C_API strop_code strop_context_create(const strop_engine* engine, const strop_context_options* options,
                                            strop_context** context, strop_error* error);
STROP_C_API void strop_context_free(strop_context* context);
/* Says where an input is read from or an output is written to, until bound again. The struct is copied; the memory at
 * `data` must stay while runs use it, except for strings, which are copied: bind them again where they change. Outputs
 * of strings cannot be bound. Otherwise as Context::bind in strop.h. */
STROP_C_API strop_code strop_context_bind(strop_context* context, const char* name, const strop_tensor* tensor,
                                          strop_error* error);
STROP_C_API strop_code strop_context_bind_input(strop_context* context, size_t index, const strop_tensor* tensor,
                                                strop_error* error);
STROP_C_API strop_code strop_context_bind_output(strop_context* context, size_t index, const strop_tensor* tensor,
                                                 strop_error* error);
/* Forgets everything that was bound. */
STROP_C_API strop_code strop_context_reset(strop_context* context, strop_error* error);
/* Returns when the outputs are there. */
STROP_C_API strop_code strop_context_run(strop_context* context, strop_error* error);
/* The result of the last run. What it points to belongs to the context, until the next run, bind or reset;
 * `tensor->size` has to be set. */
STROP_C_API strop_code strop_context_output(strop_context* context, const char* name, strop_tensor* tensor,
                                            strop_error* error);
/* One run with the time of each step, in the order of `strop inspect`. Writes at most `capacity` times; `count` is how
 * many steps there are. */
STROP_C_API strop_code strop_context_profile(strop_context* context, double* times_us, size_t capacity, size_t* count,
                                             strop_error* error);
/* At the shapes of the last run. `info->size` has to be set. */
STROP_C_API strop_code strop_context_memory(const strop_context* context, strop_memory_info* info, strop_error* error);

/* ---- Compiling and judging: libstrop.so only --------------------------------------------------------------------- */

typedef int32_t strop_device_kind;
enum { STROP_DEVICE_AUTO = 0, STROP_DEVICE_CPU = 1, STROP_DEVICE_CUDA = 2 };

typedef int32_t strop_precision;
enum {
  STROP_PRECISION_FP32 = 0,
  STROP_PRECISION_TF32 = 1,
  STROP_PRECISION_FP16 = 2,
  STROP_PRECISION_BF16 = 3,
  STROP_PRECISION_INT8 = 4,
  STROP_PRECISION_FP8 = 5,
  STROP_PRECISION_MIXED = 6
};

/* A model: a file, or what a file holds. */
typedef struct strop_model {
  size_t size;
  const char* path;  /* null: `bytes` */
  const void* bytes; /* copied */
  size_t byte_count;
  const char* folder; /* of external data, with bytes; null: none */
} strop_model;
#define STROP_MODEL_INIT \
  { sizeof(strop_model), NULL, NULL, 0, NULL }

/* The shape of one input; all three equal fix it. Each has `rank` numbers; null ones are `opt`. */
typedef struct strop_shape {
  size_t size;
  const char* name;
  int32_t rank;
  const int64_t* min;
  const int64_t* opt;
  const int64_t* max;
} strop_shape;
#define STROP_SHAPE_INIT \
  { sizeof(strop_shape), NULL, 0, NULL, NULL, NULL }

/* An input or output of the engine that differs from the model's. */
typedef struct strop_port_format {
  size_t size;
  const char* name;
  strop_dtype dtype;  /* STROP_UNDEFINED: the model's */
  const char* layout; /* "nhwc", "ndhwc": channels last; null: the model's */
} strop_port_format;
#define STROP_PORT_FORMAT_INIT \
  { sizeof(strop_port_format), NULL, STROP_UNDEFINED, NULL }

typedef struct strop_build_options {
  size_t size;
  strop_device_kind device;
  int32_t device_index;
  strop_precision precision;
  int32_t effort;            /* 0 to 5 */
  const char* route;         /* "knob=value …"; null: the default one */
  const char* target;        /* null: this machine */
  const strop_shape* shapes; /* of the engine's inputs, as `io` makes them */
  size_t shape_count;
  const strop_port_format* io;
  size_t io_count;
  const char* const* outputs; /* tensors to return instead of the model's outputs */
  size_t output_count;
  const char* timing_cache;   /* a file: measured times are read from it and added to it; null: none */
  int32_t timing_cache_only;  /* not 0: measure nothing; an error says which times the cache lacks */
  int64_t memory_limit_bytes; /* 0: none */
  /* `stage` is "import", "passes", "select" or "write", `item` a pass or node; total 0: not known. */
  void (*progress)(void* user, const char* stage, const char* item, int64_t done, int64_t total);
  void* progress_user;
} strop_build_options;
#define STROP_BUILD_OPTIONS_INIT                                                                                       \
  {                                                                                                                    \
    sizeof(strop_build_options), STROP_DEVICE_AUTO, 0, STROP_PRECISION_FP32, 3, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, \
        NULL, 0, 0, NULL, NULL                                                                                         \
  }

STROP_C_API strop_code strop_build(const strop_model* model, const strop_build_options* options,
                                   const strop_runtime* runtime, strop_engine** engine, strop_error* error);

typedef int32_t strop_metric;
enum {
  STROP_METRIC_L0 = 0,
  STROP_METRIC_L1 = 1,
  STROP_METRIC_L2 = 2,
  STROP_METRIC_LINF = 3,
  STROP_METRIC_REL_L2 = 4,
  STROP_METRIC_COS = 5
};

/* The metric's own limit: that of default_limit in strop.h. */
#define STROP_DEFAULT_LIMIT (-2.0)

typedef struct strop_verify_options {
  size_t size;
  strop_metric metric;
  double limit; /* at most, from 0; for STROP_METRIC_COS at least, from -1 to 1; or STROP_DEFAULT_LIMIT */
  uint64_t seed;
  const strop_shape* shapes; /* `opt` counts; of random inputs */
  size_t shape_count;
} strop_verify_options;
#define STROP_VERIFY_OPTIONS_INIT \
  { sizeof(strop_verify_options), STROP_METRIC_REL_L2, STROP_DEFAULT_LIMIT, 0, NULL, 0 }

/* Runs the engine on seeded random inputs and compares with the reference interpreter on the model. `pass`: 1 within
 * the limit, 0 beyond. `report` may be null; otherwise a JSON document:
 * {"pass","pairs","outputs":[{"name","dtype","shape", "l0","l1","l2","linf","rel_l2","cos","nan","inf","same_shape"}]}.
 */
STROP_C_API strop_code strop_verify(const strop_engine* engine, const strop_model* model,
                                    const strop_verify_options* options, int32_t* pass, char** report,
                                    strop_error* error);

/* JSON documents, as the command `strop` prints them with --json. */
STROP_C_API strop_code strop_engine_inspect_json(const strop_engine* engine, char** json, strop_error* error);
STROP_C_API strop_code strop_inspect_model_json(const strop_model* model, char** json, strop_error* error);
STROP_C_API strop_code strop_knobs_json(char** json, strop_error* error);
/* `engine_path` may be null. */
STROP_C_API strop_code strop_doctor_json(const char* engine_path, char** json, strop_error* error);

#ifdef __cplusplus
}
#endif

#endif /* STROP_STROP_C_H */
