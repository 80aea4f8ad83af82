# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Most of the time to compile a file goes into the headers of Boost.Asio. Compiling ten files in one go builds a fresh tree
# several times faster; a change to one file then compiles ten. The presets with clang compile every file by itself, so that
# a file that forgot an include is found.
option(TENURE_UNITY_BUILD "Compile several sources of a target in one go" OFF)

# tenure_unity_build(target [ALONE source...] [FAST source...]): ALONE are sources that share names with others of their
# target. FAST are what each lease goes through: an optimised build compiles them by themselves, too. GCC lets a translation
# unit grow only so much by inlining, and does not know which calls are worth it: among others an acquisition and its
# release take a tenth more instructions.
function(tenure_unity_build target)
  cmake_parse_arguments(PARSE_ARGV 1 argument "" "" "ALONE;FAST")
  if(TENURE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    # g++ takes a type of an unnamed namespace inside another type for a mistake, unless it stands in the file it was given.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    # Names of one file hide those of another only here.
    target_compile_options(${target} PRIVATE -Wno-shadow)
    set_source_files_properties(${argument_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
      set_source_files_properties(${argument_FAST} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()
