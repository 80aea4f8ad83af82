# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Most of the time to compile a file goes into the headers of Boost.Asio and Catch2. Compiling many files in one go builds a
# fresh tree several times faster; a change to one file then compiles its whole batch. The presets with clang compile every
# file by itself, so that a file that forgot an include is found.
option(TENURE_UNITY_BUILD "Compile several sources of a target in one go" OFF)

# tenure_unity_build(target [BATCH n] [ALONE source...])
#
# Batches hold at most n sources (16), all of one folder: files of different folders may use the same names. Only small
# folders share one. ALONE are sources that share names with others.
function(tenure_unity_build target)
  if(NOT TENURE_UNITY_BUILD)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 argument "" "BATCH" "ALONE")
  if(NOT argument_BATCH)
    set(argument_BATCH 16)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes a type of an unnamed namespace inside another type for a mistake, unless it stands in the file it was given.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # Names of one file hide those of another only here.
  target_compile_options(${target} PRIVATE -Wno-shadow)

  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(REMOVE_ITEM sources ${argument_ALONE})
  # which sources go together, by folder
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    list(APPEND folders "${folder}")
    list(APPEND sources_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(groups "")
  foreach(folder IN LISTS folders)
    list(LENGTH sources_${folder} size)
    if(size LESS 6)
      list(APPEND sources_small ${sources_${folder}})
    else()
      list(APPEND groups ${folder})
    endif()
  endforeach()
  if(sources_small)
    list(APPEND groups small)
  endif()

  set(number 0)
  foreach(group IN LISTS groups)
    # batches of one size, instead of full ones and a small rest
    list(LENGTH sources_${group} size)
    math(EXPR batches "(${size} + ${argument_BATCH} - 1) / ${argument_BATCH}")
    math(EXPR batch_size "(${size} + ${batches} - 1) / ${batches}")
    set(at 0)
    foreach(source IN LISTS sources_${group})
      math(EXPR batch "${at} / ${batch_size}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${number}_${batch}")
      math(EXPR at "${at} + 1")
    endforeach()
    math(EXPR number "${number} + 1")
  endforeach()
endfunction()

# tenure_precompile(target header...): for headers of others that most files of a target include. Only where batches are
# compiled: a precompiled header hides that a file forgot an include. Optimised builds gain nothing.
function(tenure_precompile target)
  if(TENURE_UNITY_BUILD AND CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
