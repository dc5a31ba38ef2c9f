// SPDX-License-Identifier: Apache-2.0

#include "peer.hpp"

#include <boost/signals2.hpp>

/// Boost.Signals2 with its default mutex.
struct Signal {
    boost::signals2::signal<void(long)> signal;

    template <class Observer> auto connect(Observer observer) { return signal.connect(observer); }
    void disconnect(const boost::signals2::connection &connection) { connection.disconnect(); }
    void notify(long event) { signal(event); }
};

int main() { return serve<Signal>(2); }
