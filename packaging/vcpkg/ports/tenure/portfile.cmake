vcpkg_download_distfile(
    ARCHIVE
    URLS "@ARCHIVE_URL@"
    FILENAME "tenure-${VERSION}.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

vcpkg_check_features(
    OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        etcd TENURE_ETCD
        postgresql TENURE_POSTGRESQL
        tls TENURE_TLS
        tool TENURE_BUILD_TOOL
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DTENURE_BUILD_EXAMPLES=OFF
        -DTENURE_BUILD_TESTS=OFF
        -DTENURE_INSTALL=ON
        -DTENURE_UNITY_BUILD=ON
        -DTENURE_WARNINGS=OFF
        -DTENURE_ZOOKEEPER=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tenure)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES tenure AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
