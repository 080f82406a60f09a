# guide: cmake
cmake_minimum_required(VERSION 3.25)
project(game LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(muster SOURCE_DIR ${CMAKE_SOURCE_DIR}/muster)  # or GIT_REPOSITORY and GIT_TAG
FetchContent_MakeAvailable(muster)
add_executable(game src/main.cc src/rules.cc)
target_include_directories(game PRIVATE src)
target_link_libraries(game PRIVATE muster::registry)
muster_schema(game schemas/game.fbs schemas/parts.fbs)  # makes "game.h" and "parts.h"
# guide: end
