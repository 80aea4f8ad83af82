# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# CPack runs this on the installed components, before it packs them: the documents that Debian wants in each package, its
# compression and folders, and the directory of the file store.
get_filename_component(source_dir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_program(GZIP gzip REQUIRED)
find_program(STRIP strip REQUIRED)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(permissions OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
# a changelog or manual page without the time in it, so that two builds are the same
function(compress file)
  file(CHMOD "${file}" FILE_PERMISSIONS ${permissions})
  run("${GZIP}" -9n "${file}")
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "CPACK_DEBIAN_${component}_PACKAGE_NAME" name)
  set(usr "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr")
  if(NOT EXISTS "${usr}")
    message(FATAL_ERROR "${component} is not installed below ${usr}: is CMAKE_INSTALL_PREFIX /usr?")
  endif()

  set(documents "${usr}/share/doc/${${name}}")
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" DESTINATION "${documents}" FILE_PERMISSIONS ${permissions})
  file(COPY_FILE "${source_dir}/CHANGELOG.md" "${documents}/changelog")
  file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/changelog" "${documents}/changelog.Debian")
  compress("${documents}/changelog")
  compress("${documents}/changelog.Debian")

  if(component STREQUAL "tenure_tool")
    file(COPY "${CMAKE_CURRENT_LIST_DIR}/tenure.conf" DESTINATION "${usr}/lib/tmpfiles.d" FILE_PERMISSIONS ${permissions})
  endif()
  file(GLOB pages "${usr}/share/man/man*/*.[1-9]")
  foreach(page IN LISTS pages)
    compress("${page}")
  endforeach()
  # Debian's zsh looks into a folder of its own
  if(EXISTS "${usr}/share/zsh/site-functions")
    file(RENAME "${usr}/share/zsh/site-functions" "${usr}/share/zsh/vendor-completions")
  endif()
  file(GLOB_RECURSE archives "${usr}/lib/*.a")
  foreach(archive IN LISTS archives)
    run("${STRIP}" --strip-debug --remove-section=.comment --enable-deterministic-archives "${archive}")
  endforeach()
endforeach()
