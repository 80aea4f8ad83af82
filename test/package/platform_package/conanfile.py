# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
from conan import ConanFile

LINKED = {
    "boost": {"file": "Boost", "components": {"headers": ("Boost::headers", [])}},
    "openssl": {"file": "OpenSSL", "components": {"crypto": ("OpenSSL::Crypto", ["crypto"]), "ssl": ("OpenSSL::SSL", ["ssl"])}},
    "spdlog": {"file": "spdlog", "components": {"libspdlog": ("spdlog::spdlog", ["spdlog", "fmt"])}},
}


class PlatformPackageRecipe(ConanFile):
    """The platform's Boost, OpenSSL or spdlog, as a package with the targets of ConanCenter's: name and version come from the
    command line."""

    def package_info(self):
        linked = LINKED[self.name]
        self.cpp_info.set_property("cmake_file_name", linked["file"])
        for name, (target, libraries) in linked["components"].items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", target)
            component.includedirs = component.libdirs = component.bindirs = []
            component.system_libs = libraries
        if self.name == "spdlog":
            component.defines = ["SPDLOG_COMPILED_LIB", "SPDLOG_FMT_EXTERNAL", "SPDLOG_SHARED_LIB"]
