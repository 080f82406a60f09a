#include <cstdio>

#include "examples/guide/guide.h"

int main() {
  guide::components();
  guide::messages();
  guide::handlers();
  guide::managers();
  guide::templates();
  std::puts("every snippet of the guide works");
}
