#include <cstdio>

#include "examples/cookbook/cookbook.h"

int main() {
  cook::entities();
  cook::behaviour();
  cook::copies();
  cook::tools();
  cook::coming_from();
  std::puts("every recipe works");
}
