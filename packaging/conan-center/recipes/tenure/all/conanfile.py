import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.4"


class TenureConan(ConanFile):
    name = "tenure"
    description = "Asynchronous leases for Boost.Asio: distributed locks and pools of numbered slots"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@HOMEPAGE@"
    topics = ("asio", "distributed-lock", "lease", "redis", "etcd", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "with_etcd": [True, False],
        "with_postgresql": [True, False],
        "with_tls": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "with_etcd": True,
        "with_postgresql": False,
        "with_tls": True,
    }
    implements = ["auto_shared_fpic"]

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # public headers include Boost.Asio
        self.requires("boost/1.88.0", transitive_headers=True)
        self.requires("openssl/[>=3 <4]")
        self.requires("spdlog/1.15.3")
        if self.options.with_postgresql:
            self.requires("libpq/[>=14]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} needs CLOCK_BOOTTIME and the GNU linker's version scripts: Linux only")
        minimum = {"gcc": "12", "clang": "19"}.get(str(self.settings.compiler))
        if minimum is None or Version(self.settings.compiler.version) < minimum:
            raise ConanInvalidConfiguration(f"{self.ref} needs gcc 12 or clang 19, or a newer one")
        if self.settings.get_safe("compiler.libcxx") == "libc++":
            raise ConanInvalidConfiguration(f"{self.ref} needs libstdc++: libc++ has no complete <stop_token>")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("BUILD_TESTS", "BUILD_TOOL", "BUILD_EXAMPLES", "CONFORMANCE", "WARNINGS"):
            toolchain.cache_variables[f"TENURE_{part}"] = False
        toolchain.cache_variables["TENURE_ETCD"] = bool(self.options.with_etcd)
        toolchain.cache_variables["TENURE_INSTALL"] = True
        toolchain.cache_variables["TENURE_TLS"] = bool(self.options.with_tls)
        toolchain.cache_variables["TENURE_UNITY_BUILD"] = True
        toolchain.cache_variables["TENURE_POSTGRESQL"] = "ON" if self.options.with_postgresql else "OFF"
        toolchain.cache_variables["TENURE_ZOOKEEPER"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        library = self.cpp_info.components["core"]
        library.libs = ["tenure"]
        library.set_property("cmake_target_name", "tenure::tenure")
        library.set_property("pkg_config_name", "tenure")
        library.requires = ["boost::headers", "openssl::crypto", "spdlog::spdlog"]
        if self.options.with_tls:
            library.requires.append("openssl::ssl")
        if self.options.with_postgresql:
            library.requires.append("libpq::libpq")
        library.system_libs = ["pthread"]

        # virtual time and a store that fails on demand, for the tests of users
        testing = self.cpp_info.components["testing"]
        testing.libs = ["tenure_testing"]
        testing.set_property("cmake_target_name", "tenure::testing")
        testing.requires = ["core"]
