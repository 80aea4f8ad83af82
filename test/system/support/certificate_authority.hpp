// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenure::test
{

/** A certificate authority of the test's own. */
class Authority
{
public:
    Authority()
    {
        if (find_program("openssl").empty())
            SKIP("no openssl program to make certificates with");
        openssl(
            {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
             file("ca.key"), "-out", ca(), "-days", "2", "-subj", "/CN=authority of a test"});
    }

    [[nodiscard]] std::string ca() const { return file("ca.pem"); }
    [[nodiscard]] std::string certificate(std::string const& name) const { return file(name + ".pem"); }
    [[nodiscard]] std::string key(std::string const& name) const { return file(name + ".key"); }

    /** Makes NAME.pem and NAME.key; `names` as in a subjectAltName. */
    void issue(std::string const& name, std::string const& names, int days = 2) const
    {
        openssl(
            {"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key(name), "-out",
             file(name + ".csr"), "-subj", "/CN=" + name, "-addext", "subjectAltName=" + names});
        openssl(
            {"x509", "-req", "-in", file(name + ".csr"), "-CA", ca(), "-CAkey", file("ca.key"), "-CAcreateserial",
             "-days", std::to_string(days), "-copy_extensions", "copyall", "-out", certificate(name)});
    }

    void self_sign(std::string const& name, std::string const& names) const
    {
        openssl(
            {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
             key(name), "-out", certificate(name), "-days", "2", "-subj", "/CN=" + name, "-addext",
             "subjectAltName=" + names});
    }

private:
    [[nodiscard]] std::string file(std::string const& name) const { return directory_.file(name); }

    void openssl(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), "openssl");
        ChildProcess process({arguments, {}, file("openssl.log")});
        auto const ended = process.wait_for(std::chrono::seconds{30});
        if (!ended || ended->code != 0) {
            std::ostringstream log;
            log << std::ifstream(file("openssl.log")).rdbuf();
            throw std::runtime_error("openssl " + arguments[1] + " failed:\n" + log.str());
        }
    }

    ScratchDirectory directory_;
};

/** A server with TLS on a second port, which asks for no client certificate. */
inline RedisServerOptions tls_options(Authority const& authority, std::string const& certificate)
{
    RedisServerOptions options;
    options.tls = true;
    options.tls_ca = authority.ca();
    options.tls_certificate = authority.certificate(certificate);
    options.tls_key = authority.key(certificate);
    options.config = {"tls-auth-clients no"};
    return options;
}

/// the names in a certificate for servers of the tests
inline constexpr char const* here = "DNS:localhost,IP:127.0.0.1";

} // namespace tenure::test
