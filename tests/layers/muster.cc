// Linked with `muster` alone, from its installed headers.
#include <muster/messages.h>

int main() {
  const muster::TypeTable types;
  const muster::BatchHeader header;
  return header.bytes == 0 && types.find("no.such.Type") == nullptr ? 0 : 1;
}
