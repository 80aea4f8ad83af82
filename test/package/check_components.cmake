# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# cmake -DBUILD_DIR=... -DWORK_DIR=... -P check_components.cmake
# Every installed file is in one of the three components, and each component has only what belongs to it. WORK_DIR/whole has
# the whole afterwards.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK_DIR}")

# install_into(FOLDER [option...]): sets FOLDER to the files.
function(install_into folder)
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/${folder}" ${ARGN}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE files RELATIVE "${WORK_DIR}/${folder}" "${WORK_DIR}/${folder}/*")
  list(SORT files)
  set(${folder} "${files}" PARENT_SCOPE)
endfunction()

install_into(whole)
set(belongs_runtime "/libtenure\\.so\\.[0-9.]+$")
set(belongs_development "/include/tenure/|^include/tenure/|/cmake/tenure/|/share/tenure/conformance/|^share/tenure/conformance/|/tenure\\.pc$|^share/tenure/postgresql\\.sql$|/libtenure(_opentelemetry|_prometheus|_testing)?\\.(a|so)$")
set(belongs_tool "^bin/tenure$|/tenure\\.1$|/bash-completion/|/zsh/|/fish/")
set(parts "")
foreach(component IN ITEMS runtime development tool)
  install_into(${component} --component tenure_${component})
  foreach(file IN LISTS ${component})
    if(NOT file MATCHES "${belongs_${component}}")
      message(SEND_ERROR "tenure_${component} has ${file}")
    endif()
  endforeach()
  list(APPEND parts ${${component}})
endforeach()
list(SORT parts)
if(NOT parts STREQUAL whole)
  set(missing ${whole})
  list(REMOVE_ITEM missing ${parts})
  message(SEND_ERROR "in no component: ${missing}; in all of them together: ${parts}")
endif()
if(NOT development)
  message(FATAL_ERROR "nothing was installed")
endif()
