# muster_schema(TARGET FILE.fbs...): makes a header of each schema, and lets the sources of TARGET and of all that link it include these by
# their names: `schemas/game.fbs` gives "game.h". A schema is remade when it, or one that it includes, changes.
function(muster_schema target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "muster_schema(${target} ...): there is no target ${target} yet; add_executable or add_library comes first")
  endif()
  if(NOT ARGN)
    message(FATAL_ERROR "muster_schema(${target}): names no schema")
  endif()
  find_program(MUSTER_FLATC flatc REQUIRED)
  mark_as_advanced(MUSTER_FLATC)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_schemas)
  file(MAKE_DIRECTORY ${folder})
  set(headers)
  foreach(schema IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH schema NORMALIZE)
    cmake_path(GET schema STEM LAST_ONLY name)
    if(NOT EXISTS ${schema})
      message(FATAL_ERROR "muster_schema(${target} ...): there is no ${schema}")
    endif()
    if(${folder}/${name}.h IN_LIST headers)
      message(FATAL_ERROR "muster_schema(${target} ...): two schemas are called ${name}.fbs")
    endif()
    add_custom_command(OUTPUT ${folder}/${name}.h
      COMMAND muster::schemac --flatc ${MUSTER_FLATC} -I ${CMAKE_CURRENT_SOURCE_DIR} ${schema} -o ${folder}/${name}.h
              --depfile ${folder}/${name}.h.d
      COMMAND ${CMAKE_COMMAND} -E touch_nocreate ${folder}/${name}.h
      DEPENDS muster::schemac ${schema} DEPFILE ${folder}/${name}.h.d VERBATIM)
    list(APPEND headers ${folder}/${name}.h)
  endforeach()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(scope INTERFACE)
    add_custom_target(${target}_schema_headers DEPENDS ${headers})
    add_dependencies(${target} ${target}_schema_headers)
  else()
    set(scope PUBLIC)
    target_sources(${target} PRIVATE ${headers})
  endif()
  target_include_directories(${target} ${scope} ${folder})
endfunction()

# Flags of a plugin of muster-server, so that it uses its own definitions.
function(muster_plugin_settings target)
  target_compile_features(${target} INTERFACE cxx_std_23)
  target_compile_options(${target} INTERFACE -ffp-contract=off
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique> $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  target_link_options(${target} INTERFACE LINKER:-Bsymbolic)
endfunction()
