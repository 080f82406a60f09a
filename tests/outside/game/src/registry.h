// The game's own; Muster has a header of this name too.
#pragma once

namespace game::own {
constexpr int registry = 1;
}
