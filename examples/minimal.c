/* Compiles a model of one f32 input and one f32 output of 2 x 3, keeps the engine, loads it and runs it.
 *
 *   minimal_c MODEL.onnx ENGINE.strop
 */
#include <stdio.h>

#include "strop/strop_c.h"

static int fail(const strop_error* error) {
  fprintf(stderr, "%s: %s\n", strop_code_name(error->code), error->message);
  return 1;
}

static int compile(const char* model_path, const char* engine_path, strop_error* error) {
  strop_model model = STROP_MODEL_INIT;
  strop_build_options options = STROP_BUILD_OPTIONS_INIT;
  strop_engine* engine = NULL;
  model.path = model_path;
  options.device = STROP_DEVICE_CPU;
  strop_code code = strop_build(&model, &options, NULL, &engine, error);
  if (code == STROP_OK) code = strop_engine_save(engine, engine_path, NULL, error);
  strop_engine_free(engine); /* null is fine */
  return code;
}

static int run(strop_context* context, strop_error* error) {
  float x[6] = {-1.5f, 2, -3, 4, -5, 6.25f};
  float y[6] = {0};
  const int64_t dims[2] = {2, 3};
  strop_tensor input = STROP_TENSOR_INIT;
  input.dtype = STROP_F32;
  input.rank = 2;
  input.dims = dims;
  input.data = x;
  strop_tensor output = input;
  output.data = y;
  strop_code code = strop_context_bind(context, "x", &input, error);
  if (code == STROP_OK) code = strop_context_bind(context, "y", &output, error);
  if (code == STROP_OK) code = strop_context_run(context, error);
  if (code != STROP_OK) return code;
  printf("y:");
  for (int i = 0; i < 6; ++i) printf(" %g", (double)y[i]);
  printf("\n");
  return code;
}

int main(int argc, char** argv) {
  strop_error error = STROP_ERROR_INIT;
  strop_engine* engine = NULL;
  strop_context* context = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: minimal_c MODEL.onnx ENGINE.strop\n");
    return 2;
  }
  if (compile(argv[1], argv[2], &error) != STROP_OK) return fail(&error);
  if (strop_engine_load(argv[2], NULL, NULL, &engine, &error) != STROP_OK) return fail(&error);
  if (strop_context_create(engine, NULL, &context, &error) != STROP_OK) return fail(&error);
  const int code = run(context, &error);
  strop_context_free(context);
  strop_engine_free(engine);
  return code == STROP_OK ? 0 : fail(&error);
}
