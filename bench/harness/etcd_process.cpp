// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/etcd_process.hpp"

#include "harness/free_port.hpp"

#include "raw/etcd.hpp"

#include <cstdlib>

namespace bench
{

EtcdProcess::EtcdProcess()
    : port_(free_port())
{
    auto const clients = "http://127.0.0.1:" + std::to_string(port_);
    auto const peers = "http://127.0.0.1:" + std::to_string(free_port());
    program_.start(
        {"etcd", "--data-dir", (program_.directory() / "data").string(), "--listen-client-urls", clients,
         "--advertise-client-urls", clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
         "--initial-cluster", "default=" + peers},
        [this] { return raw::etcd_answers(port_); });
}

bool EtcdProcess::installed()
{
    return std::system("command -v etcd > /dev/null") == 0;
}

std::string EtcdProcess::url() const
{
    return "etcd://127.0.0.1:" + std::to_string(port_);
}

} // namespace bench
