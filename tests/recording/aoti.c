/* Operators that need a real device (cuDNN, cuBLAS), for watching: they give an unbacked result of the right shape, or nothing.
   Everything else of torch's C interface is torch's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void *T;
#define MOST 8

static void *torch(const char *name) {
  static void *library;
  if (!library) library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  void *found = library ? dlsym(library, name) : 0;
  if (!found) { fprintf(stderr, "no %s in libtorch_cpu.so\n", name); abort(); }
  return found;
}

static int64_t number_of(const char *name, T tensor) {
  int64_t value = 0;
  if (((int32_t (*)(T, int64_t *))torch(name))(tensor, &value)) abort();
  return value;
}

static int32_t small_number_of(const char *name, T tensor) {
  int32_t value = 0;
  if (((int32_t (*)(T, int32_t *))torch(name))(tensor, &value)) abort();
  return value;
}

static int64_t *sizes_of(T tensor) {
  int64_t *sizes = 0;
  if (((int32_t (*)(T, int64_t **))torch("aoti_torch_get_sizes"))(tensor, &sizes)) abort();
  return sizes;
}

int32_t aoti_torch_cuda_convolution(T input, T weight, T *bias, const int64_t *stride, int64_t n, const int64_t *padding, int64_t n1,
    const int64_t *dilation, int64_t n2, int32_t transposed, const int64_t *output_padding, int64_t n3, int64_t groups, T *result) {
  int64_t dims = number_of("aoti_torch_get_dim", input), sizes[MOST], strides[MOST];
  const int64_t *in = sizes_of(input), *kernel = sizes_of(weight);
  if (dims > MOST) abort();
  sizes[0] = in[0];
  sizes[1] = transposed ? kernel[1] * groups : kernel[0];
  for (int64_t d = 2; d < dims; d++) {
    int64_t i = d - 2, reach = dilation[i] * (kernel[d] - 1);
    sizes[d] = transposed ? (in[d] - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i] + 1
                          : (in[d] + 2 * padding[i] - reach - 1) / stride[i] + 1;
  }
  strides[dims - 1] = 1;
  for (int64_t d = dims - 1; d > 0; d--) strides[d - 1] = strides[d] * sizes[d];
  int32_t (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, T *) = torch("aoti_torch_empty_strided");
  return empty(dims, sizes, strides, small_number_of("aoti_torch_get_dtype", input),
               small_number_of("aoti_torch_get_device_type", input), small_number_of("aoti_torch_get_device_index", input), result);
}

int32_t aoti_torch_cuda_addmm_out(T out, T self, T first, T second, double beta, double alpha) { return 0; }
