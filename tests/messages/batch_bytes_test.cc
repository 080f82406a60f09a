#include "messages/arena.h"
